"""Models from Gymnasium environments: how their states are saved, restored and told apart."""
