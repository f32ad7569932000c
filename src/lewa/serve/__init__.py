"""The decision service: agents behind HTTP, with a journal on disk. It needs the extra `serve`."""
