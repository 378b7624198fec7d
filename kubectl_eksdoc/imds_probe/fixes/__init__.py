"""What can be done for nodes whose pods do not reach the metadata service: each way with its price, the smallest first.

Belongs here: which ways exist for whom, their commands, the way back, what they replace, who will complain.
Never here: doing any of it, a word of the command line, a table.
"""
