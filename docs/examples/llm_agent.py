import base64
import io

import gymnasium
from openai import OpenAI  # any server that speaks OpenAI's protocol: OPENAI_BASE_URL
from PIL import Image

MODEL = "gpt-5.4"
client = OpenAI()
env = gymnasium.make(
    "harness.gym:vlm_eval/Mind2Web-v0",
    benchmark="sample",
    split="dev",
    limit=1,
)


def act(observation):
    listed = "\n".join(f"{one['bid']}: {one['text']}" for one in observation["candidates"])
    question = (
        f"Task: {observation['goal']}\n"
        f"Done so far: {'; '.join(observation['previous_actions']) or 'nothing'}\n"
        f"Elements:\n{listed}\n"
        'What is done next? Answer with one call: click("id"), fill("id", "text") or '
        'select_option("id", "option").'
    )
    picture = io.BytesIO()
    Image.fromarray(observation["screenshot"]).save(picture, "JPEG")
    data = base64.b64encode(picture.getvalue()).decode()
    parts = [
        {"type": "text", "text": question},
        {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{data}"}},
    ]
    reply = client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": parts}]
    )
    return reply.choices[0].message.content or ""


observation, info = env.reset(seed=0)
over = False
while not over:
    observation, reward, over, _, info = env.step(act(observation))
    print(observation["last_action"], info["step_success"], observation["last_action_error"])
print(reward, info["task_success"])
