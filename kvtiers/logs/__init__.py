"""What a server's log says: lines, requests, conclusions."""
