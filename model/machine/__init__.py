"""The step function: finds the rule for a request or a timer, and carries out its effects.

`features` says what the guards of the rules see of a request and a group: for example, whether the
group is full for this member.
"""
