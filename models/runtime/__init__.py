"""What every process needs: settings, logging, metrics, ids, threads, caches."""
