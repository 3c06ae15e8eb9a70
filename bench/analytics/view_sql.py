"""Questions about page views: those of ClickBench, over the columns that the table has.

`{user}` is an id that the table has.
"""

from __future__ import annotations

_SUMS = ", ".join(f'SUM("ResolutionWidth" + {number}) AS s{number}' for number in range(90))

VIEWS: dict[str, str] = {
    "count": "SELECT COUNT(*) FROM hits",
    "adverts": 'SELECT COUNT(*) FROM hits WHERE "AdvEngineID" <> 0',
    "three sums": 'SELECT SUM("AdvEngineID"), COUNT(*), AVG("ResolutionWidth") FROM hits',
    "mean of ids": 'SELECT AVG("UserID") FROM hits',
    "distinct users": 'SELECT COUNT(DISTINCT "UserID") FROM hits',
    "distinct phrases": 'SELECT COUNT(DISTINCT "SearchPhrase") FROM hits',
    "first and last day": 'SELECT MIN("EventDate"), MAX("EventDate") FROM hits',
    "views by advert": """
        SELECT "AdvEngineID", COUNT(*) AS c FROM hits WHERE "AdvEngineID" <> 0 GROUP BY
        "AdvEngineID" ORDER BY c DESC""",
    "users by region": """
        SELECT "RegionID", COUNT(DISTINCT "UserID") AS u FROM hits GROUP BY "RegionID" ORDER BY
        u DESC LIMIT 10""",
    "sums by region": """
        SELECT "RegionID", SUM("AdvEngineID") AS s, COUNT(*) AS c, AVG("ResolutionWidth") AS a,
        COUNT(DISTINCT "UserID") AS u FROM hits GROUP BY "RegionID" ORDER BY c DESC LIMIT 10""",
    "users by model": """
        SELECT "MobilePhoneModel", COUNT(DISTINCT "UserID") AS u FROM hits WHERE
        "MobilePhoneModel" <> '' GROUP BY "MobilePhoneModel" ORDER BY u DESC LIMIT 10""",
    "users by phone and model": """
        SELECT "MobilePhone", "MobilePhoneModel", COUNT(DISTINCT "UserID") AS u FROM hits WHERE
        "MobilePhoneModel" <> '' GROUP BY "MobilePhone", "MobilePhoneModel" ORDER BY u DESC
        LIMIT 10""",
    "views by phrase": """
        SELECT "SearchPhrase", COUNT(*) AS c FROM hits WHERE "SearchPhrase" <> '' GROUP BY
        "SearchPhrase" ORDER BY c DESC LIMIT 10""",
    "users by phrase": """
        SELECT "SearchPhrase", COUNT(DISTINCT "UserID") AS u FROM hits WHERE "SearchPhrase" <>
        '' GROUP BY "SearchPhrase" ORDER BY u DESC LIMIT 10""",
    "views by engine and phrase": """
        SELECT "SearchEngineID", "SearchPhrase", COUNT(*) AS c FROM hits WHERE "SearchPhrase" <>
        '' GROUP BY "SearchEngineID", "SearchPhrase" ORDER BY c DESC LIMIT 10""",
    "views by user": """
        SELECT "UserID", COUNT(*) AS c FROM hits GROUP BY "UserID" ORDER BY c DESC LIMIT 10""",
    "views by user and phrase": """
        SELECT "UserID", "SearchPhrase", COUNT(*) AS c FROM hits GROUP BY "UserID",
        "SearchPhrase" ORDER BY c DESC LIMIT 10""",
    "any users and phrases": """
        SELECT "UserID", "SearchPhrase", COUNT(*) AS c FROM hits GROUP BY "UserID",
        "SearchPhrase" LIMIT 10""",
    "views by user, minute and phrase": """
        SELECT "UserID", extract(minute FROM "EventTime") AS m, "SearchPhrase", COUNT(*) AS c
        FROM hits GROUP BY "UserID", m, "SearchPhrase" ORDER BY c DESC LIMIT 10""",
    "one user": 'SELECT "UserID" FROM hits WHERE "UserID" = {user}',
    "addresses with a word": """SELECT COUNT(*) FROM hits WHERE "URL" LIKE '%google%'""",
    "phrases of addresses": """
        SELECT "SearchPhrase", MIN("URL") AS u, COUNT(*) AS c FROM hits WHERE "URL" LIKE
        '%google%' AND "SearchPhrase" <> '' GROUP BY "SearchPhrase" ORDER BY c DESC LIMIT 10""",
    "phrases of titles": """
        SELECT "SearchPhrase", MIN("URL") AS u, MIN("Title") AS t, COUNT(*) AS c, COUNT(DISTINCT
        "UserID") AS d FROM hits WHERE "Title" LIKE '%Google%' AND "URL" NOT LIKE '%.google.%'
        AND "SearchPhrase" <> '' GROUP BY "SearchPhrase" ORDER BY c DESC LIMIT 10""",
    "views of addresses": """
        SELECT * FROM hits WHERE "URL" LIKE '%google%' ORDER BY "EventTime" LIMIT 10""",
    "earliest phrases": """
        SELECT "SearchPhrase" FROM hits WHERE "SearchPhrase" <> '' ORDER BY "EventTime" LIMIT 10""",
    "first phrases": """
        SELECT "SearchPhrase" FROM hits WHERE "SearchPhrase" <> '' ORDER BY "SearchPhrase" LIMIT
        10""",
    "earliest phrases, in order": """
        SELECT "SearchPhrase" FROM hits WHERE "SearchPhrase" <> '' ORDER BY "EventTime",
        "SearchPhrase" LIMIT 10""",
    "lengths by counter": """
        SELECT "CounterID", AVG(length("URL")) AS l, COUNT(*) AS c FROM hits WHERE "URL" <> ''
        GROUP BY "CounterID" HAVING COUNT(*) > 10000 ORDER BY l DESC LIMIT 25""",
    "referring hosts": r"""
        SELECT REGEXP_REPLACE("Referer", '^https?://(?:www\.)?([^/]+)/.*$', '\1') AS k,
        AVG(length("Referer")) AS l, COUNT(*) AS c, MIN("Referer") AS m FROM hits WHERE
        "Referer" <> '' GROUP BY k HAVING COUNT(*) > 10000 ORDER BY l DESC LIMIT 25""",
    "ninety sums": f"SELECT {_SUMS} FROM hits",
    "clients by engine": """
        SELECT "SearchEngineID", "ClientIP", COUNT(*) AS c, SUM("IsRefresh") AS s,
        AVG("ResolutionWidth") AS a FROM hits WHERE "SearchPhrase" <> '' GROUP BY
        "SearchEngineID", "ClientIP" ORDER BY c DESC LIMIT 10""",
    "clients by view, some": """
        SELECT "WatchID", "ClientIP", COUNT(*) AS c, SUM("IsRefresh") AS s,
        AVG("ResolutionWidth") AS a FROM hits WHERE "SearchPhrase" <> '' GROUP BY "WatchID",
        "ClientIP" ORDER BY c DESC LIMIT 10""",
    "clients by view": """
        SELECT "WatchID", "ClientIP", COUNT(*) AS c, SUM("IsRefresh") AS s,
        AVG("ResolutionWidth") AS a FROM hits GROUP BY "WatchID", "ClientIP" ORDER BY c DESC
        LIMIT 10""",
    "views by address": """
        SELECT "URL", COUNT(*) AS c FROM hits GROUP BY "URL" ORDER BY c DESC LIMIT 10""",
    "views by constant and address": """
        SELECT 1 AS one, "URL", COUNT(*) AS c FROM hits GROUP BY one, "URL" ORDER BY c DESC
        LIMIT 10""",
    "views by client and neighbours": """
        SELECT "ClientIP", "ClientIP" - 1 AS b, "ClientIP" - 2 AS d, "ClientIP" - 3 AS e,
        COUNT(*) AS c FROM hits GROUP BY "ClientIP", "ClientIP" - 1, "ClientIP" - 2, "ClientIP"
        - 3 ORDER BY c DESC LIMIT 10""",
    "addresses of a counter": """
        SELECT "URL", COUNT(*) AS v FROM hits WHERE "CounterID" = 62 AND "EventDate" >= DATE
        '2013-07-01' AND "EventDate" <= DATE '2013-07-31' AND "DontCountHits" = 0 AND
        "IsRefresh" = 0 AND "URL" <> '' GROUP BY "URL" ORDER BY v DESC LIMIT 10""",
    "titles of a counter": """
        SELECT "Title", COUNT(*) AS v FROM hits WHERE "CounterID" = 62 AND "EventDate" >= DATE
        '2013-07-01' AND "EventDate" <= DATE '2013-07-31' AND "DontCountHits" = 0 AND
        "IsRefresh" = 0 AND "Title" <> '' GROUP BY "Title" ORDER BY v DESC LIMIT 10""",
    "links of a counter": """
        SELECT "URL", COUNT(*) AS v FROM hits WHERE "CounterID" = 62 AND "EventDate" >= DATE
        '2013-07-01' AND "EventDate" <= DATE '2013-07-31' AND "IsRefresh" = 0 AND "IsLink" <> 0
        AND "IsDownload" = 0 GROUP BY "URL" ORDER BY v DESC LIMIT 10 OFFSET 1000""",
    "sources of a counter": """
        SELECT "TraficSourceID", "SearchEngineID", "AdvEngineID", CASE WHEN ("SearchEngineID" =
        0 AND "AdvEngineID" = 0) THEN "Referer" ELSE '' END AS src, "URL" AS dst, COUNT(*) AS v
        FROM hits WHERE "CounterID" = 62 AND "EventDate" >= DATE '2013-07-01' AND "EventDate" <=
        DATE '2013-07-31' AND "IsRefresh" = 0 GROUP BY "TraficSourceID", "SearchEngineID",
        "AdvEngineID", src, dst ORDER BY v DESC LIMIT 10 OFFSET 1000""",
    "hashes by day": """
        SELECT "URLHash", "EventDate", COUNT(*) AS v FROM hits WHERE "CounterID" = 62 AND
        "EventDate" >= DATE '2013-07-01' AND "EventDate" <= DATE '2013-07-31' AND "IsRefresh" =
        0 AND "TraficSourceID" IN (-1, 6) AND "RefererHash" = 0 GROUP BY "URLHash", "EventDate"
        ORDER BY v DESC LIMIT 10 OFFSET 100""",
    "window sizes": """
        SELECT "WindowClientWidth", "WindowClientHeight", COUNT(*) AS v FROM hits WHERE
        "CounterID" = 62 AND "EventDate" >= DATE '2013-07-01' AND "EventDate" <= DATE
        '2013-07-31' AND "IsRefresh" = 0 AND "DontCountHits" = 0 AND "URLHash" = 0 GROUP BY
        "WindowClientWidth", "WindowClientHeight" ORDER BY v DESC LIMIT 10 OFFSET 1000""",
    "views by minute": """
        SELECT DATE_TRUNC('minute', "EventTime") AS m, COUNT(*) AS v FROM hits WHERE "CounterID"
        = 62 AND "EventDate" >= DATE '2013-07-14' AND "EventDate" <= DATE '2013-07-15' AND
        "IsRefresh" = 0 AND "DontCountHits" = 0 GROUP BY DATE_TRUNC('minute', "EventTime") ORDER
        BY m LIMIT 10 OFFSET 1000""",
}
