"""Who may use which route: every page and API route x every actor.

A room declares its routes in `tests/matrix/ROOM.py`:

    from tests.matrix.shapes import MEMBERS, SEE_ALL, EVERYBODY, Route, everybody

    ROUTES = [
        # name of the route, HTTP method, who may; everybody else gets `otherwise`
        Route("rentals:list", allow=EVERYBODY),
        Route("rentals:detail", args=lambda w: [w.rental.pk], allow=SEE_ALL | MEMBERS),
        Route("rentals:end", "POST", args=..., data=lambda w: {...}, allow={"operator", "finance"},
              forbidden=EVERYBODY - {"outsider"}),
    ]

    def prepare(world):            # optional: builds what the args need, once
        world.rental = ...

Actors: anonymous, outsider (member of another team), member, lead, approver, finance, operator,
auditor, admin. Expected answers: those in `allow` pass (anything but 401, 403, 404 and 5xx);
of the rest those in `forbidden` get 403 (they may know the thing, but lack the right), the others
404. Anonymous is sent to the sign-in (pages) or gets 401 (API) unless `open=True`.
`python -m tests.matrix` writes docs/permissions.md; a test fails when it differs, when a route of
the URL configuration is not declared, or when a declared one does not exist.
"""
