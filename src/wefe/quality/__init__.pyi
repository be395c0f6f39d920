from ._benchmark import Benchmark as Benchmark
from ._benchmark import list_benchmarks as list_benchmarks
from ._benchmark import load_benchmark as load_benchmark
from ._evaluate import QualityScore as QualityScore
from ._evaluate import evaluate as evaluate
from ._scores import quality_ranking as quality_ranking
from ._scores import quality_scores as quality_scores
