"""MiniWoB++ (Liu et al. 2018, after Shi et al. 2017): small pages with a task each.

`benchmark` declares it and plays an episode in Chromium; `policy` has scripted solutions.
"""
