"""The local web page, for chairs who release and researchers who refine.

::

    serving     binds to 127.0.0.1, creates secrets and folder, starts and ends everything
    guard       checks host, origin and token of requests; sets headers; limits sizes
    app         the application; common, chair and researcher hold its routes, page what they share
    cases       the answers of a chair or a researcher so far
    workspace   the private folder of uploaded files, removed at the end
    jobs        work in separate processes, with progress and cancellation
    work        the tasks of such a process: the actions of peerveil.app
"""
