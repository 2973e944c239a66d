"""The whole product on loopback: a local Discord with a web page, and a scripted model."""
