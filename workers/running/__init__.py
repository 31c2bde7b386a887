"""Parts of running a step: claims, calls, threads, outcomes, parking and the memo of results."""
