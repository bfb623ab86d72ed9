"""What runs the plans: the loop, the executors, the model and its costs."""

import os

# Threads that spin while they wait for each other slow everything else on the machine down; OpenMP
# reads this when torch is first imported, which only the modules of this package do.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
