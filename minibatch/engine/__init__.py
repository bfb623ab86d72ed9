"""What runs the plans: the loop, the executors, the model and its costs."""

import os

# A small model's operators last tens of microseconds. OpenMP threads that sleep between them wake
# up too late (half the speed); threads that spin for as long as they do by default keep the core
# from those they wait for as soon as anything else runs (a tenth of the speed). A few microseconds
# of spinning cost neither. OpenMP reads this when torch is first imported, which only the modules
# of this package do.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "2000")
