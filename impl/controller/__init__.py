"""The controller: operations that read the image and answer with records."""
