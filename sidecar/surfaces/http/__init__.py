"""REST: the door for scripts. `openapi` describes it without a web library, `app` answers requests, `run` listens.

The package imports nothing, so that only modules that use starlette and uvicorn load them.
"""
