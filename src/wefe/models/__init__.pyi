from ._flair import flair_to_gensim as flair_to_gensim
from ._load import load as load
from ._packaged import load_test_model as load_test_model
from ._packaged import load_weat_w2v as load_weat_w2v
from ._word_embedding_model import ArrayVectors as ArrayVectors
from ._word_embedding_model import WordEmbeddingModel as WordEmbeddingModel
