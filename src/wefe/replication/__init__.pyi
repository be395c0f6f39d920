from ._replication import Replication as Replication
from ._replication import list_replications as list_replications
from ._replication import replicate as replicate
