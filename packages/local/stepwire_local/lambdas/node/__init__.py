"""Functions in Node.js: processes of the machine's `node`, each behind a server of Lambda's Runtime API on loopback."""
