"""The borders at which several implementations stand, and what each side may rely on.

A `Transaction` is an open SQLAlchemy connection: what several stores do with the same one is committed or
rolled back together. No transaction is held over a call to a model, a yield or a stream.
"""

from gaia_memory.ports.clock import Clock as Clock
from gaia_memory.ports.clock import SystemClock as SystemClock
from gaia_memory.ports.external import AgentModel as AgentModel
from gaia_memory.ports.external import AnswerCheck as AnswerCheck
from gaia_memory.ports.external import Embedder as Embedder
from gaia_memory.ports.external import EmbeddingPurpose as EmbeddingPurpose
from gaia_memory.ports.external import Extractor as Extractor
from gaia_memory.ports.external import LanguageModel as LanguageModel
from gaia_memory.ports.external import ProjectsProvider as ProjectsProvider
from gaia_memory.ports.external import Reranker as Reranker
from gaia_memory.ports.external import Transcript as Transcript
from gaia_memory.ports.transaction import Transaction as Transaction
