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
            0.1: [("pdcfr_plus", 580, 0.00027), ("hs_pcfr_plus", 696, 0.00019)],
            0.01: [("sapcfr_plus", 1508, 0.0003), ("pdcfr_plus", 1856, 0.00035)],
            0.001: [("pdcfr_plus", 3016, 0.0004), ("hs_pcfr_plus", 3248, 0.00027)],
            1e-06: [("hs_pcfr_plus", 6380, 0.00031), ("pdcfr_plus", 9164, 0.00052)],
            1e-09: [("hs_pcfr_plus", 9164, 0.00034), ("pdcfr_plus", 30044, 0.00073)],
        },
        ("lp", 0.0),
    ),
    (
        "Leduc",
        9457,
        2,
        True,
        {
            0.1: [("dcfr", 680904, 0.0016), ("cfr_plus", 737646, 0.0018)],
            0.01: [("dcfr", 2572304, 0.005), ("dcfr_plus", 2572304, 0.0052)],
            0.001: [("dcfr alpha=2", 9457000, 0.0174), ("dcfr", 9457000, 0.0176)],
            1e-06: [("lp", 9457, 0.0583), ("pdcfr_plus", 263982698, 0.4921)],
            1e-09: [("lp", 9457, 0.0583), ("hs_pcfr_plus", 828319716, 1.6345)],
        },
        ("lp", 1.6e-15),
    ),
    (
        "Leduc13",
        166336,
        2,
        True,
        {
            0.1: [("dcfr_plus", 9980160, 0.0107), ("dcfr", 10978176, 0.0112)],
            0.01: [("dcfr_plus", 28609792, 0.0306), ("dcfr", 34265216, 0.0345)],
            0.001: [
                ("hs_dcfr gamma=8", 103793664, 0.1071),
                ("dcfr_plus", 103793664, 0.1105),
            ],
            1e-06: [("lp", 166336, 3.2192)],
            1e-09: [("lp", 166336, 3.2192)],
        },
        ("lp", 9.2e-16),
    ),
    (
        "Liar's dice, 4 sides",
        8181,
        2,
        True,
        {
            0.1: [("dcfr_plus", 261792, 0.00091), ("sapcfr_plus", 278154, 0.00085)],
            0.01: [("dcfr_plus", 638118, 0.0017), ("dcfr", 752652, 0.0018)],
            0.001: [("dcfr_plus", 1292598, 0.0031), ("sapcfr_plus", 1685286, 0.0039)],
            1e-06: [("pdcfr_plus", 5104944, 0.0109), ("lp", 8181, 0.0184)],
            1e-09: [("lp", 8181, 0.0184), ("pdcfr_plus", 14464008, 0.0302)],
        },
        ("lp", 2.8e-17),
    ),
    (
        "Liar's dice, 6 sides",
        294883,
        2,
        True,
        {
            0.1: [
                ("dcfr alpha=2", 10615788, 0.0185),
                ("sapcfr_plus", 11205554, 0.0191),
            ],
            0.01: [("dcfr alpha=2", 46591514, 0.0749), ("dcfr", 38924556, 0.0751)],
            0.001: [("dcfr", 222341782, 0.3698), ("dcfr alpha=2", 244163124, 0.3795)],
            1e-06: [("lp", 294883, 1.1929)],
            1e-09: [("lp", 294883, 1.1929)],
        },
        ("lp", 2.6e-16),
    ),
    (
        "Goofspiel 4, bids hidden",
        2229,
        2,
        True,
        {
            0.1: [("pcfr_plus", 40122, 0.00038), ("pruned_cfr", 44014, 0.00082)],
            0.01: [("pcfr_plus", 124824, 0.00099), ("pdcfr_plus", 147114, 0.00081)],
            0.001: [("pdcfr_plus", 222900, 0.0011), ("hs_pcfr_plus", 267480, 0.0012)],
            1e-06: [("pdcfr_plus", 664242, 0.0025), ("hs_pcfr_plus", 664242, 0.0025)],
            1e-09: [("hs_pcfr_plus", 1154622, 0.0041), ("lp", 2229, 0.007)],
        },
        ("lp", 0.0),
    ),
    (
        "Goofspiel 4, bids seen",
        54421,
        2,
        True,
        {
            0.1: [("pdcfr_plus", 3591786, 0.0238), ("sapcfr_plus", 3591786, 0.0239)],
            0.01: [("pdcfr_plus", 7836624, 0.0514), ("sapcfr_plus", 12299146, 0.0815)],
            0.001: [
                ("hs_pcfr_plus", 41033434, 0.2684),
                ("pdcfr_plus", 41033434, 0.2693),
            ],
            1e-06: [("lp", 54421, 0.3438), ("pdcfr_plus", 170120046, 1.1589)],
            1e-09: [("lp", 54421, 0.3438), ("pdcfr_plus", 484346900, 3.26)],
        },
        ("lp", 5.5e-16),
    ),
    (
        "Battleship",
        52095,
        2,
        True,
        {
            0.1: [("practical_egt", 3125700, 0.0014), ("lcfr", 1354470, 0.0032)],
            0.01: [("pcfr_plus", 2708940, 0.006), ("practical_egt", 5001120, 0.0079)],
            0.001: [("pcfr_plus", 6876540, 0.0147), ("sapcfr_plus", 8231010, 0.0179)],
            1e-06: [
                ("hs_pcfr_plus", 20421240, 0.0649),
                ("pdcfr_plus", 32507280, 0.0688),
            ],
            1e-09: [("lp", 52095, 0.0938), ("hs_pcfr_plus", 39279630, 0.1194)],
        },
        ("lp", 3.1e-16),
    ),
    (
        "Search 5",
        87927,
        2,
        True,
        {
            0.1: [("cfr_plus", 5803182, 0.0073), ("sapcfr_plus", 5803182, 0.0073)],
            0.01: [
                ("hs_pcfr_plus", 11606364, 0.015),
                ("sapcfr_plus", 12661488, 0.0155),
            ],
            0.001: [
                ("pdcfr_plus", 21805896, 0.0265),
                ("sapcfr_plus", 26202246, 0.0317),
            ],
            1e-06: [("pdcfr_plus", 66296958, 0.0796), ("lp", 87927, 0.1086)],
            1e-09: [("lp", 87927, 0.1086), ("pdcfr_plus", 206628450, 0.2468)],
        },
        ("lp", 1.2e-15),
    ),
    (
        "One-Card 100",
        89201,
        2,
        True,
        {
            0.1: [("dcfr", 713608, 0.00063), ("dcfr alpha=2", 713608, 0.00074)],
            0.01: [("sapcfr_plus", 2319226, 0.0017), ("pdcfr_plus", 2676030, 0.0018)],
            0.001: [("dcfr_plus", 4638452, 0.0031), ("sapcfr_plus", 6422472, 0.0042)],
            1e-06: [("lp", 89201, 0.0337), ("sapcfr_plus", 107933210, 0.0675)],
            1e-09: [("lp", 89201, 0.0337), ("hs_pcfr_plus", 407826972, 0.2506)],
        },
        ("lp", 2.5e-16),
    ),
    (
        "Kuhn, three players",
        617,
        3,
        False,
        {
            0.1: [("pdcfr_plus", 20361, 0.00028), ("sapcfr_plus", 20361, 0.00025)],
            0.01: [("dcfr", 61083, 0.00055), ("dcfr_plus", 61083, 0.00041)],
            0.001: [("hs_pcfr_plus", 133272, 0.00054), ("dcfr_plus", 133272, 0.00057)],
            1e-06: [("pdcfr_plus", 577512, 0.0014), ("sapcfr_plus", 2893113, 0.0053)],
            1e-09: [("pdcfr_plus", 1799172, 0.0035), ("sapcfr_plus", 143600580, 0.24)],
        },
        ("pdcfr_plus", 7e-10),
    ),
    (
        "Goofspiel 3, general sum",
        418,
        2,
        False,
        {
            0.1: [("pdcfr_plus", 10868, 0.00028), ("pcfr_plus", 12540, 0.00031)],
            0.01: [],
            0.001: [],
            1e-06: [],
            1e-09: [],
        },
        ("pcfr_plus", 0.06),
    ),
]
