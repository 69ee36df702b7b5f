"""What will scores be once the judging is deep?"""
