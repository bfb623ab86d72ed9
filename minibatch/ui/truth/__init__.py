"""The page How true is this?"""
