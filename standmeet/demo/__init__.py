"""./run demo: the whole product on this machine, and its main job shown step by step."""
