"""The runtime of every process: settings, logging, metrics, ids, threads, caches."""
