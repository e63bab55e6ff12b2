"""The HTTP server over one home: REST, an event stream and, in `pages`, what a browser shows."""
