import os
asks = os.fdopen(3, "rb")
exec(compile(asks.read(int(asks.readline())), "<hermes>", "exec"), {"__name__": "hermes", "_asks": asks})
