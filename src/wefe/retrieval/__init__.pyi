from ._audit import RankingAudit as RankingAudit
from ._audit import audit_ranking as audit_ranking
from ._texts import compare_documents as compare_documents
from ._texts import exchange_group_words as exchange_group_words
from ._texts import load_resume_names as load_resume_names
from ._texts import match_names as match_names
