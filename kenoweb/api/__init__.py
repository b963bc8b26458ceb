"""The memory for agents and editors, over the Model Context Protocol: `manage.py mcp`.

Everything here sees what the whole space may see. What was said in one chat never leaves.
"""
