"""HTTP to the outside: clients of services, and clients that connect only to checked addresses."""
