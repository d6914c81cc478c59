"""MiniWoB++ (Liu et al. 2018, after Shi et al. 2017): small pages with a task each.

`benchmark` declares it, `tasks` knows the pages, `world` plays an episode in Chromium, `oracles`
has scripted solutions of some tasks.
"""
