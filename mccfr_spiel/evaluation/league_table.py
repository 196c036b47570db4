"""What `python -m benchmarks.league --write` measured; see recommending.py.

A row has a game's title, its nodes, its players, whether it is zero-sum, for each
NashConv the two algorithms that got there first, with nodes touched and seconds, and
the algorithm that came lowest, with its NashConv.
"""

from typing import Any

ROWS: list[tuple[Any, ...]] = [
    (
        "Kuhn",
        58,
        2,
        True,
        {
            0.1: [("sapcfr_plus", 696, 0.0001), ("dcfr alpha=2", 812, 0.0001)],
            0.01: [("sapcfr_plus", 1508, 0.0002), ("dcfr", 4176, 0.0003)],
            0.001: [("sapcfr_plus", 3248, 0.0002), ("hs_pcfr_plus", 3248, 0.0003)],
            1e-06: [("hs_pcfr_plus", 6380, 0.0003), ("sapcfr_plus", 32944, 0.0005)],
            1e-09: [("hs_pcfr_plus", 9164, 0.0004), ("pdcfr_plus", 30044, 0.0013)],
        },
        ("lp", 0.0),
    ),
    (
        "Leduc",
        9457,
        2,
        True,
        {
            0.1: [("dcfr_plus", 794388, 0.0017), ("cfr_plus", 737646, 0.0018)],
            0.01: [("dcfr_plus", 2572304, 0.005), ("dcfr", 2572304, 0.0052)],
            0.001: [("dcfr", 9457000, 0.0175), ("dcfr_plus", 9457000, 0.0247)],
            1e-06: [("lp", 9457, 0.1181), ("pdcfr_plus", 263982698, 0.6316)],
            1e-09: [("lp", 9457, 0.1181)],
        },
        ("lp", 1.6e-15),
    ),
    (
        "Leduc13",
        166336,
        2,
        True,
        {
            0.1: [
                ("hs_dcfr gamma=8", 11976192, 0.0138),
                ("hs_dcfr gamma=30", 13972224, 0.0156),
            ],
            0.01: [("dcfr_plus", 28609792, 0.0532), ("dcfr", 34265216, 0.0544)],
            0.001: [
                ("dcfr_plus", 103793664, 0.1493),
                ("hs_dcfr gamma=8", 103793664, 0.167),
            ],
            1e-06: [],
            1e-09: [],
        },
        ("hs_dcfr gamma=8", 7.6e-05),
    ),
    (
        "Liar's dice, 4 sides",
        8181,
        2,
        True,
        {
            0.1: [("dcfr", 294516, 0.0008), ("dcfr alpha=2", 310878, 0.0008)],
            0.01: [("dcfr_plus", 638118, 0.0017), ("hs_dcfr gamma=8", 687204, 0.0017)],
            0.001: [("dcfr_plus", 1292598, 0.0031), ("sapcfr_plus", 1685286, 0.0035)],
            1e-06: [("hs_pcfr_plus", 5612166, 0.016), ("pdcfr_plus", 5104944, 0.0219)],
            1e-09: [("hs_pcfr_plus", 8181000, 0.0249), ("lp", 8181, 0.0366)],
        },
        ("lp", 2.8e-17),
    ),
    (
        "Liar's dice, 6 sides",
        294883,
        2,
        True,
        {
            0.1: [("pcfr_plus", 11795320, 0.0223), ("dcfr", 10026022, 0.026)],
            0.01: [("dcfr", 38924556, 0.0821), ("dcfr_plus", 46591514, 0.1039)],
            0.001: [("dcfr", 222341782, 0.492), ("lp", 294883, 5.2061)],
            1e-06: [("lp", 294883, 5.2061)],
            1e-09: [("lp", 294883, 5.2061)],
        },
        ("lp", 2.6e-16),
    ),
    (
        "Goofspiel 4, bids hidden",
        2229,
        2,
        True,
        {
            0.1: [("pcfr_plus", 40122, 0.0004), ("hs_pcfr_plus", 44580, 0.0004)],
            0.01: [("pcfr_plus", 124824, 0.0007), ("pdcfr_plus", 147114, 0.0008)],
            0.001: [("pcfr_plus", 222900, 0.001), ("pdcfr_plus", 222900, 0.0011)],
            1e-06: [("pdcfr_plus", 664242, 0.0024), ("hs_pcfr_plus", 664242, 0.0065)],
            1e-09: [("pdcfr_plus", 2229000, 0.0112), ("hs_pcfr_plus", 1154622, 0.016)],
        },
        ("lp", 0.0),
    ),
    (
        "Goofspiel 4, bids seen",
        54421,
        2,
        True,
        {
            0.1: [("pcfr_plus", 3918312, 0.0457), ("pdcfr_plus", 3591786, 0.0581)],
            0.01: [("pdcfr_plus", 7836624, 0.1414), ("pcfr_plus", 10231148, 0.1538)],
            0.001: [("hs_pcfr_plus", 41033434, 0.6074), ("lp", 54421, 0.9866)],
            1e-06: [("lp", 54421, 0.9866)],
            1e-09: [("lp", 54421, 0.9866)],
        },
        ("lp", 5.5e-16),
    ),
    (
        "Battleship",
        52095,
        2,
        True,
        {
            0.1: [("practical_egt", 3125700, 0.0015), ("sapcfr_plus", 1667040, 0.0044)],
            0.01: [("hs_pcfr_plus", 3750840, 0.0254), ("sapcfr_plus", 3750840, 0.0288)],
            0.001: [("hs_pcfr_plus", 6876540, 0.0513), ("pcfr_plus", 6876540, 0.0653)],
            1e-06: [
                ("hs_pcfr_plus", 20421240, 0.1498),
                ("pdcfr_plus", 32507280, 0.2354),
            ],
            1e-09: [("hs_pcfr_plus", 39279630, 0.2807), ("lp", 52095, 0.3823)],
        },
        ("lp", 3.1e-16),
    ),
    (
        "Search 5",
        87927,
        2,
        True,
        {
            0.1: [("hs_pcfr_plus", 8089284, 0.0155), ("cfr_plus", 5803182, 0.0191)],
            0.01: [
                ("hs_pcfr_plus", 11606364, 0.0239),
                ("hs_dcfr gamma=8", 21805896, 0.0425),
            ],
            0.001: [("lp", 87927, 0.0722), ("hs_pcfr_plus", 41501544, 0.0807)],
            1e-06: [("lp", 87927, 0.0722), ("pdcfr_plus", 66296958, 0.2848)],
            1e-09: [("lp", 87927, 0.0722)],
        },
        ("lp", 1.2e-15),
    ),
    (
        "One-Card 100",
        89201,
        2,
        True,
        {
            0.1: [("dcfr", 713608, 0.0007), ("dcfr alpha=2", 713608, 0.0007)],
            0.01: [("sapcfr_plus", 2319226, 0.0017), ("pdcfr_plus", 2676030, 0.0021)],
            0.001: [("dcfr_plus", 4638452, 0.0036), ("hs_pcfr_plus", 6422472, 0.0042)],
            1e-06: [("lp", 89201, 0.0494), ("sapcfr_plus", 107933210, 0.096)],
            1e-09: [("lp", 89201, 0.0494), ("pdcfr_plus", 407826972, 0.3577)],
        },
        ("lp", 2.5e-16),
    ),
    (
        "Kuhn, three players",
        617,
        3,
        False,
        {
            0.1: [("cfr_plus", 25914, 0.0002), ("pcfr_plus", 20361, 0.0002)],
            0.01: [("dcfr", 61083, 0.0004), ("pcfr_plus", 72189, 0.0004)],
            0.001: [("dcfr_plus", 133272, 0.0005), ("sapcfr_plus", 159186, 0.0006)],
            1e-06: [("sapcfr_plus", 2893113, 0.0052), ("pdcfr_plus", 577512, 0.0056)],
            1e-09: [
                ("pdcfr_plus", 1799172, 0.0079),
                ("sapcfr_plus", 143600580, 0.3878),
            ],
        },
        ("pdcfr_plus", 7e-10),
    ),
    (
        "Goofspiel 3, general sum",
        418,
        2,
        False,
        {
            0.1: [("hs_pcfr_plus", 27588, 0.0003), ("pdcfr_plus", 10868, 0.0004)],
            0.01: [],
            0.001: [],
            1e-06: [],
            1e-09: [],
        },
        ("pcfr_plus", 0.06),
    ),
]
