"""The memory for programs: operations over REST and MCP, mem0's addresses, OpenAI's protocol."""
