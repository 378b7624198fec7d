"""Whether Karpenter hears of interruptions, in every format; and what is missing, as documents."""
