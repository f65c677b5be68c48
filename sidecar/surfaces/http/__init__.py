"""REST: the door for scripts. `openapi` describes it without a web library, `app` answers, `run` listens.

Import the module that is needed: starlette and uvicorn are loaded by those that use them.
"""
