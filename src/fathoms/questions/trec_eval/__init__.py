"""The numbers of trec_eval, byte for byte."""
