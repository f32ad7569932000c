"""The decision service: agents behind HTTP, with a journal on disk. It takes the extra `serve`."""
