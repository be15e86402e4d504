"""The page on this machine: for a chair who releases, and for a researcher who refines.

::

    serving     binds to 127.0.0.1, makes token and folder, starts and ends everything
    guard       who may ask: host, origin, token; which headers every answer has; how much may be sent
    app         the application: common, chair and researcher hold its addresses; page what these share
    spending    what the page shows of the ledger
    cases       what a chair or a researcher has said so far
    workspace   the private folder that holds what was uploaded, until the end
    jobs        work in processes of its own: progress, cancelling
    work        what such a process does: it asks peerveil.app, as the command line does
"""
