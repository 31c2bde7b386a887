"""The entrances: what comes in over HTTP. The only place that knows Flask."""
