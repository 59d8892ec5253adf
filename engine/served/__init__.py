"""What serving engines report of their speculation: read from their files, named as here, shown beside the lab's own.

`reading` takes a file of any of the formats, `pooling` adds reports up, `light` makes a trace of one that tells its
verify passes in order. What a format does not tell stays unknown. docs/design/0020-serving-engines.md.
"""
