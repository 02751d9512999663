"""An agent with a deadline, in the loop that you would write anyway.

    python examples/real_time.py

The environment is yours: planning leaves it where it is. What the agent learns in one step it
still knows in the next.
"""

from __future__ import annotations

import gymnasium

import platypoos as pp

env = gymnasium.make("CartPole-v1")
agent = pp.Agent(pp.GymnasiumModel(env), deadline=0.02, discount=0.9, seed=0)  # 20 ms a step

_, _ = env.reset(seed=0)
total, calls = 0.0, 0
for _ in range(50):
    action = agent.act()
    _, reward, terminated, truncated, _ = env.step(agent.model.env_actions[action])
    agent.observe(float(reward))
    total, calls = total + float(reward), calls + agent.plan.calls
    if terminated or truncated:
        break
print(f"{total:.0f} steps upright, {calls / agent.steps:.0f} calls a step")
