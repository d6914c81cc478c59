"""Pages and what was done on them as rows of Multimodal-Mind2Web.

The sample's builder and the recorder share how a page is described (`snapshot.js`), which elements
count as the target (`candidates`), how an action is put into words (`representations`), and the
files (`columns`). The rest is the recorder of `vlm-eval record`: a watched tab (`tab`,
`listen.js`), gestures that become steps (`recorder`, `taking`), what is hidden (`masking`), and the
draft.
"""
