"""What a log proves of a request, and whether a running server's tier works."""
