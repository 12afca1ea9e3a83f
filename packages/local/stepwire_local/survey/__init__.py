"""What the start tells about workflows: what cannot run here, what stubs answer for, which tools miss something.

It reads the stacks after they are made, and changes nothing.
"""
