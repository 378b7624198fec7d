"""``python -m kubectl_eksdoc``: the same as ``kubectl eksdoc``."""

from kubectl_eksdoc.launch import main

if __name__ == "__main__":
    main()
