"""Pages and what was done on them as rows of Multimodal-Mind2Web.

How a page is described (`snapshot.js`), which elements count as the target (`candidates`), how an
action is put into words (`representations`), and the files (`columns`).
"""
