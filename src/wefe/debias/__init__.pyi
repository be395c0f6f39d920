from ._base import BaseDebias as BaseDebias
from ._fitted import check_is_fitted as check_is_fitted
from ._hard import HardDebias as HardDebias
from ._rowwise import RowwiseDebias as RowwiseDebias
