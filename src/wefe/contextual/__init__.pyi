from ._contexts import SEAT_TEMPLATES as SEAT_TEMPLATES
from ._contexts import find_contexts as find_contexts
from ._encoder import Context as Context
from ._load import load_encoder as load_encoder
from ._model import ContextualModel as ContextualModel
