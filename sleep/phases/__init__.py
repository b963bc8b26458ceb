from sleep.phases import consolidation, errors, improvement, pruning, reflection

# The order is a promise: improvement reads what pruning counted, reflection reads them all.
PHASES = tuple(module.PHASE for module in (consolidation, errors, pruning, improvement, reflection))
