"""Stubs: files that answer for what the local stack cannot run. It knows neither AWS's services nor templates.

A stub is a JSON file with an answer, or a Python script that makes one. It answers for whatever bears its name: a
function, a state, a state machine or an action such as `sns:publish`.
"""
